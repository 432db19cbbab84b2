// Loaded before the program by the processes of the chaos suite: their clock jumps when the suite says so, as when somebody sets the
// clock of a machine. Timers are not affected, as on a machine.
const process = require('node:process');

const SystemDate = Date;
/** Milliseconds by which the clock is ahead. */
let offset = Number(process.env.CHAOS_CLOCK_OFFSET);

const now = () => SystemDate.now() + offset;

globalThis.Date = new Proxy(SystemDate, {
  construct: (target, args, caller) => Reflect.construct(target, args.length === 0 ? [now()] : args, caller),
  apply: () => new SystemDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});

process.on('message', (message) => {
  offset = message.offset;
  process.send({ offset });
});
// No process of the suite outlives it, even if it was killed.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
// The program ends when it wants to.
process.channel.unref();
