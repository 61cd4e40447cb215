// Package quota counts a client's calls and compares their number with limits. The package provides token buckets,
// windows, the scopes in which limits count calls, and counters. A stand-in defines the scopes, and how a client learns
// that it has reached a limit. No type of this package is safe for concurrent use: a stand-in must hold its own lock.
package quota
