// Package quota measures how much a client does: token buckets and windows, the scopes that they limit, and the
// counters of these. Which scopes there are, and how a client is told that one is full, is a platform's.
// Nothing here locks: a stand-in uses it under its own lock.
package quota
