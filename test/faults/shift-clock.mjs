// Preloaded into a process. Shifts its wall clock by CLOCK_SHIFT ms, and further when it receives messages.
let shift = Number(process.env.CLOCK_SHIFT ?? 0);
const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(RealDate.now() + shift);
    else super(...args);
  }
  static now() {
    return RealDate.now() + shift;
  }
};
process.on("message", (message) => {
  if (typeof message === "object" && message !== null && "shiftClock" in message) shift += message.shiftClock;
});
process.channel?.unref(); // listening must not keep the process alive
