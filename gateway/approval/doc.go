// Package approval manages the tool calls of a turn that need a person's approval.
//
// An Approvals value belongs to one turn. The goroutine that runs the model proposes a tool call and waits for the
// decision. The conversation's actor passes a person's decision to the waiting goroutine. Each proposal and each
// decision is stored as a step in the turn's journal. When a process resumes the turn after a restart, it asks people
// again about the same proposals, with the same ids, and applies the decisions that people made before.
//
// A proposal passes through these states:
//
//	proposed ──> open ──> claimed ──> decided
//
// A person can decide an open proposal by its id. A person's decision and the timeout may happen at the same time.
// Either the person's decision or the timeout claims the proposal first. The claimant decides the proposal, and stores
// and publishes the decision.
package approval
