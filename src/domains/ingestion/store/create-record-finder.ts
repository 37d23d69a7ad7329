import type { LogProjects } from '../../../queue/log-projects.ts';
import type { ClickHouse } from '../../../stores/clickhouse/client.ts';
import type { Logger } from '../../../telemetry/logger.ts';
import { loadLogRecords, type RecordFinder } from '../../log-records/index.ts';

/** Finds the log records of spans that are about to be stored. */
export function createRecordFinder(deps: {
  clickhouse: ClickHouse;
  logProjects: LogProjects;
  logger: Logger;
}): RecordFinder {
  return {
    mayHave: (projectId) => deps.logProjects.isKnown(projectId),
    async find(projectId, spans, bytesMax) {
      try {
        const { findRecordsOf } = await loadLogRecords();
        return await findRecordsOf(deps.clickhouse, projectId, spans, bytesMax);
      } catch (error) {
        deps.logger.warn({ err: error, project_id: projectId }, 'log records could not be read, they are joined later');
        return new Map();
      }
    },
  };
}
