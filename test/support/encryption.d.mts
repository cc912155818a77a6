import type { DataConverter } from '@temporalio/client';

export declare const dataConverter: DataConverter;
