import type { Command } from 'commander';

export declare function withOptions(page: string, program: Command): string;
export declare function namesOfOptions(page: string): string[];
export declare function withOddServices(
  page: string,
  services: readonly { readonly name: string; readonly description: string }[],
): string;
