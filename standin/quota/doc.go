// Package quota measures a client's calls against limits. It has token buckets, windows, the scopes in which they
// count, and counters. A stand-in defines the scopes, and how a client learns that a limit is reached. Nothing here is
// safe for concurrent use, because a stand-in holds its own lock.
package quota
