// Loaded before a process: its wall clock is CLOCK_SHIFT_MS ahead, as that of a host without NTP.
// The monotonic clock stays.
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
