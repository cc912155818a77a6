// A data converter as a user may have one: every payload and every failure's text is encrypted.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import proto from '@temporalio/proto';

const KEY = Buffer.alloc(32, 7);
const { Payload } = proto.temporal.api.common.v1;

class EncryptionCodec {
  async encode(payloads) {
    return payloads.map((payload) => {
      const iv = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', KEY, iv);
      const sealed = Buffer.concat([cipher.update(Payload.encode(payload).finish()), cipher.final()]);
      return {
        metadata: { encoding: Buffer.from('binary/encrypted') },
        data: Buffer.concat([iv, cipher.getAuthTag(), sealed]),
      };
    });
  }

  async decode(payloads) {
    return payloads.map(({ data }) => {
      const bytes = Buffer.from(data);
      const decipher = createDecipheriv('aes-256-gcm', KEY, bytes.subarray(0, 12));
      decipher.setAuthTag(bytes.subarray(12, 28));
      return Payload.decode(Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]));
    });
  }
}

/** Shows whether codecs are asked in the right order: its mark is inside what the other one seals. */
class MarkingCodec {
  async encode(payloads) {
    return payloads.map(({ metadata, data }) => ({
      metadata,
      data: Buffer.concat([Buffer.from('mark'), data ?? Buffer.alloc(0)]),
    }));
  }

  async decode(payloads) {
    return payloads.map(({ metadata, data }) => {
      if (Buffer.from(data.subarray(0, 4)).toString() !== 'mark')
        throw new Error('decoded in the wrong order');
      return { metadata, data: data.subarray(4) };
    });
  }
}

export const dataConverter = {
  payloadCodecs: [new MarkingCodec(), new EncryptionCodec()],
  failureConverterPath: fileURLToPath(new URL('encoded-failures.cjs', import.meta.url)),
};
