import type { Command } from 'commander';

export declare function withOptions(page: string, program: Command): string;
export declare function namesOfOptions(page: string): string[];
