// Package approval manages the tool calls of a turn that need a person's approval.
//
// Approvals belong to one turn. The goroutine that runs the model proposes a call and waits; the conversation's
// actor decides it on behalf of a person. Each proposal and each decision is a step in the turn's journal, so
// that a process that resumes the turn asks again under the same id and applies earlier decisions.
//
// A proposal is in one of these states:
//
//	proposed ──> open ──> claimed ──> decided
//
// Open proposals can be decided by their id. A person's decision or the timeout claims a proposal; only the
// claimant stores and publishes the decision.
package approval
