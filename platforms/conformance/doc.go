// Package conformance is the test suite that every adapter must pass against its platform's stand-in. The suite checks
// the properties of an adapter on which the gateway relies. People see exactly the text that the gateway sent. The kind
// of an error that the adapter returns says only what is certain about the failed call. An adapter never repeats a call
// by itself. An adapter neither loses a received message nor confirms the message too early. No error and no log
// contains a secret. Every call, including Run, ends when its context ends, and leaves no goroutine behind.
//
// Each case runs in a testing/synctest bubble, so waiting costs no real time. The stand-ins must therefore serve over
// in-memory connections. Each case gets a new World, which contains the stand-in.
package conformance
