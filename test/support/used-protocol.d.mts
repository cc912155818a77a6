import type { INamespace } from 'protobufjs/light.js';

export function usedProtocol(protocol: INamespace, code: string): INamespace;
