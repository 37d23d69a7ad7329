import { NotFoundError } from '../../lib/errors.ts';

/** Returns the error for feedback that the project does not have. */
export function unknownFeedback(id: string): NotFoundError {
  return new NotFoundError('feedback_not_found', `This project has no feedback ${JSON.stringify(id.slice(0, 80))}.`);
}
