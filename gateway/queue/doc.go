// Package queue keeps the messages of one conversation that wait for an answer.
//
// A Queue belongs to the goroutine of the conversation's actor. It decides which messages are one question: the pieces
// of what a client split, and several messages of one person where they are merged. Offers belong to a running turn:
// the actor offers messages to it, and the turn takes them before its next model call. What a turn did not take goes
// back to its place in the queue.
//
// A Pacer lets the conversations of one endpoint go on one after the other with what an earlier process left.
package queue
