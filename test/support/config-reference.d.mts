export declare function configReference(schema: object): string;
export declare function withReference(readme: string, reference: string): string;
