// Package approval keeps what waits for a person: the tool calls of a turn that need an approval.
//
// Approvals belong to one turn. The goroutine that runs the model proposes a call and waits; the conversation's actor
// has it decided. Each proposal and each decision is a step of the turn's journal, so that a process that takes the
// turn up asks again under the same id, and obeys what was decided before.
//
// A call that waits is in one of these states:
//
//	proposed ──> open ──> claimed ──> decided
//
// Open proposals can be decided by their id. Whoever claims one, a person's decision or its timeout, stores the
// decision and publishes it; nobody else can.
package approval
