import type {
  IOperationDefinition,
  OperationContext,
  OperationHandler,
  ResponseEnvelope,
  SubscriptionHandler,
} from "../../operation/index.ts";
import type { HTTPServiceConfig } from "./config.ts";
import type { EndpointPlan } from "./endpoint.ts";
import { Exchange } from "./wire/exchange.ts";
import { compilePages, findPagination, type PaginationPlan } from "./wire/pagination.ts";
import type { WireRequest } from "./wire/request.ts";
import { CallScope } from "./wire/scope.ts";
import { openStream } from "./wire/stream.ts";

/** The handler of one imported operation, and its pagination. */
export interface EndpointHandler {
  handler: OperationHandler | SubscriptionHandler;
  /** Returns the input of the next page. Present if the operation is paginated. */
  nextPage?: IOperationDefinition["nextPage"];
  /** How pages are found, and whether the rule was configured or inferred. */
  pagination?: PaginationPlan;
}

/** Creates the handler of one endpoint. It is compiled on the first call. */
export function createEndpointHandler(plan: EndpointPlan, config: HTTPServiceConfig): EndpointHandler {
  let made: Exchange | undefined;
  const exchange = () => (made ??= new Exchange(plan, config));
  if (plan.stream !== undefined) {
    return {
      handler: (input: unknown, context: OperationContext) => openStream(plan, config, exchange(), input, context),
    };
  }
  const handler = async (input: unknown, context: OperationContext) => call(exchange(), plan, config, input, context);
  if (plan.isOperation) return { handler };
  const pagination = findPagination(plan, config);
  if (pagination === undefined) return { handler };
  return { handler, nextPage: compilePages(plan, pagination), pagination };
}

function call(
  exchange: Exchange,
  plan: EndpointPlan,
  config: HTTPServiceConfig,
  input: unknown,
  context: OperationContext,
): Promise<ResponseEnvelope> {
  // A signal makes a request a few percent slower, so a signal that cannot fire is not passed on.
  const signal = context.abortable === false ? undefined : context.signal;
  const scope = new CallScope(plan.operationId, signal, config.timeout);
  const prepare = plan.isOperation ? (request: WireRequest) => addWait(request, context.deadline) : undefined;
  const result = exchange.run(input, context, scope, exchange.reader.read, prepare);
  return config.timeout === undefined ? result : result.finally(() => scope.close());
}

/** Adds the time that the caller waits, in seconds. The server then has the same deadline. */
function addWait({ headers }: WireRequest, deadline: number | undefined): void {
  if (deadline === undefined || deadline === Number.POSITIVE_INFINITY) return;
  headers["prefer"] = `wait=${Math.max(1, Math.ceil((deadline - Date.now()) / 1_000))}`;
}
