// Package queue holds the messages of one conversation that wait for an answer.
//
// A Queue belongs to the goroutine of the conversation's actor. The Queue decides which messages form one question:
// the pieces of a message that a chat app split, and several messages of one person that are merged. Offers belong to
// a running turn. The actor offers new messages to the turn, and the turn takes them before its next model call. If
// the turn ends before it takes an offered message, the message returns to its place in the queue.
//
// A Pacer limits how many conversations of one endpoint resume at the same time after a restart.
package queue
