import { AopsError, type ExitCode, exitCodes } from '../../base/errors.ts';
import { type RpcFailure, rpcCodes, rpcWord } from '../json-rpc.ts';

const exits: Readonly<Record<number, ExitCode>> = {
  [rpcCodes.methodNotFound]: exitCodes.notFound,
  [rpcCodes.invalidParams]: exitCodes.usage,
  [rpcCodes.invalidRequest]: exitCodes.usage,
};

/** A failure that the Model Context Protocol tells in an answer that is otherwise a success. */
export class RpcError extends AopsError {
  readonly rpc: RpcFailure;

  constructor(rpc: RpcFailure, method: string) {
    const hint = rpc.code === rpcCodes.methodNotFound ? `The service does not know ${method}.` : undefined;
    super(rpc.message, { code: rpcWord(rpc.code), exit: exits[rpc.code] ?? exitCodes.failure, ...(hint === undefined ? {} : { hint }) });
    this.rpc = rpc;
  }
}
