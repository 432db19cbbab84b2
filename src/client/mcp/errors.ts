import { AopsError, type ExitCode, exitCodes } from '../../base/errors.ts';
import { type RpcFailure, rpcCodes, rpcWord } from '../json-rpc.ts';

const exits: Readonly<Record<number, ExitCode>> = {
  [rpcCodes.methodNotFound]: exitCodes.notFound,
  [rpcCodes.invalidParams]: exitCodes.usage,
  [rpcCodes.invalidRequest]: exitCodes.usage,
};

/** A failure that the Model Context Protocol reports in a response with a success status. */
export class RpcError extends AopsError {
  readonly rpc: RpcFailure;

  constructor(rpc: RpcFailure, method: string) {
    const hint = rpc.code === rpcCodes.methodNotFound ? `The service does not support ${method}.` : undefined;
    super(rpc.message, { code: rpcWord(rpc.code), exit: exits[rpc.code] ?? exitCodes.failure, ...(hint === undefined ? {} : { hint }) });
    this.rpc = rpc;
  }
}
