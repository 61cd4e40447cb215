// Package queue holds the messages of one conversation that wait for an answer.
//
// A Queue belongs to the goroutine of the conversation's actor. It decides which messages form one question: the pieces
// of a message that a client split, and merged messages of one person. Offers belong to a running turn: the actor offers
// messages, and the turn takes them before its next model call. Offered messages that the turn did not take return to
// their place in the queue.
//
// A Pacer limits how many conversations of one endpoint resume at the same time after a restart.
package queue
