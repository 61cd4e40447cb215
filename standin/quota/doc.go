// Package quota measures a client's calls against limits: token buckets, windows, the scopes that they limit, and
// counters. The stand-in defines the scopes, and how a client learns that one is full. Nothing here is safe for
// concurrent use: a stand-in holds its own lock.
package quota
