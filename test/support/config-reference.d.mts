export declare function configReference(schema: object): string;
export declare function withReference(page: string, reference: string): string;
