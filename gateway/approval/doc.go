// Package approval manages the tool calls of a turn that need a person's approval.
//
// An Approvals value belongs to one turn. The goroutine that runs the model proposes a tool call and waits. The
// conversation's actor passes a person's decision to this goroutine. Each proposal and each decision is stored as a
// step in the turn's journal. So a process that resumes the turn after a restart asks again under the same id, and
// applies the decisions that people made before.
//
// A proposal is in one of these states:
//
//	proposed ──> open ──> claimed ──> decided
//
// A person decides an open proposal by its id. A person's decision and the timeout may happen at the same time.
// Whichever claims the proposal first stores and publishes the decision.
package approval
