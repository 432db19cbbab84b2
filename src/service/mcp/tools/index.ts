/** The tools of the MCP endpoint, in the order in which clients show them. A new group of the service adds its tools here. */
import type { Tool } from '../tool.ts';
import { agentTools } from './agents.ts';
import { billingTools } from './billing.ts';
import { caseTools } from './cases.ts';
import { fileTools } from './files.ts';
import { humanRequestTools } from './human-requests.ts';
import { runTools } from './runs.ts';

export const tools: readonly Tool[] = [...agentTools, ...runTools, ...humanRequestTools, ...caseTools, ...fileTools, ...billingTools];
