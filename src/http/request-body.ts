import type { Request } from 'express';
import { readJsonBody, receiveBody } from './body.ts';
import type { BodyHold, BodyIntake } from './body-intake.ts';
import type { RequestLanes } from './request-lanes.ts';

/** Maximum size of a body, in bytes, unless the contract names one. */
export const bodyBytesMaxDefault = 1024 * 1024;

/**
 * The body of one request. It counts as held in memory until the handler ends, even if the client
 * has left.
 */
export class RequestBody {
  /** Who shares this process: the address, until the request is authorized. */
  sharer: string;
  /** Whether the sharer is only an address. */
  isAnonymous = true;
  readonly #req: Request;
  readonly #intake: BodyIntake;
  readonly #lanes: RequestLanes;
  #hold: BodyHold | undefined;
  #json: Promise<unknown> | undefined;

  constructor(req: Request, sharer: string, { intake, lanes }: { intake: BodyIntake; lanes: RequestLanes }) {
    this.sharer = sharer;
    this.#req = req;
    this.#intake = intake;
    this.#lanes = lanes;
  }

  /** Bytes held now. */
  get bytes(): number {
    return this.#hold?.bytes ?? 0;
  }

  /** Reads and parses the body once. `asText` also accepts `text/plain`, see `readJsonBody`. */
  readJson(bytesMax: number, asText = false): Promise<unknown> {
    this.#json ??= this.#parse(bytesMax, asText);
    return this.#json;
  }

  /**
   * Receives a body that nobody needs, and forgets it, so that a fault of its framing refuses the request before it has
   * an effect. Throws as {@link receive}.
   */
  async ignore(bytesMax: number): Promise<void> {
    await this.receive(bytesMax);
    this.release();
  }

  async receive(bytesMax: number): Promise<Buffer> {
    return receiveBody(this.#req, bytesMax, this.#open());
  }

  /** Forgets the body, which must not be read afterwards. */
  release(): void {
    this.#json = undefined;
    this.#hold?.release();
  }

  async #parse(bytesMax: number, asText: boolean): Promise<unknown> {
    const inTurn = (parse: () => Promise<unknown>) => this.#lanes.runParse(this.sharer, parse);
    return readJsonBody(this.#req, bytesMax, { hold: this.#open(), inTurn, asText });
  }

  #open(): BodyHold {
    this.#hold ??= this.#intake.open(this.sharer, this.isAnonymous);
    return this.#hold;
  }
}
