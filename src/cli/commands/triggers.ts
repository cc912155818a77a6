import type { Command } from 'commander';
import type { ScheduleAction } from '../schedule.js';
import { adder, type OnEnd } from './add.js';

/** Commands for what starts runs by itself: the Schedule, and change notices. */
export function addTriggerCommands(program: Command, onEnd: OnEnd): void {
  const add = adder(onEnd);
  const schedule = program.command('schedule').description('the nightly Schedule of a connection');
  for (const [action, text] of Object.entries(SCHEDULE) as [ScheduleAction, string][]) {
    const command = add<import('../schedule.js').ScheduleOptions>(schedule, action, text, async (options) =>
      (await import('../schedule.js')).runSchedule(action, options),
    ).option('--json', 'print one JSON object');
    if (action === 'pause' || action === 'resume')
      command.option('--note <text>', 'why, for whoever finds it so');
  }

  add<import('../webhook.js').WebhookOptions>(
    program,
    'webhook',
    'receive change notices until SIGTERM; they become prompt incremental reads',
    async (options) => (await import('../webhook.js')).runWebhook(options),
  ).option('--listen <host:port>', 'address for all connections (default: webhook.listen of each)');
}

const SCHEDULE: Readonly<Record<ScheduleAction, string>> = {
  apply: 'create it, or make it what the configuration says; shows what changed',
  describe: 'next and last runs',
  trigger: 'start a run now, unless one is going on',
  pause: 'start no more runs',
  resume: 'start runs again',
  delete: 'remove it; what was published stays',
};
