// Loaded before a process. Its wall clock is CLOCK_SHIFT_MS ahead, as on a host without NTP. The
// monotonic clock does not change.
const shiftMs = Number(process.env.CLOCK_SHIFT_MS);
const HostDate = Date;
globalThis.Date = class extends HostDate {
  constructor(...given) {
    if (given.length === 0) super(HostDate.now() + shiftMs);
    else super(...given);
  }

  static now() {
    return HostDate.now() + shiftMs;
  }
};
