// Package calls contains what all adapters need to call a platform's API: the transport, the outcome of a call,
// errors without secrets, forms with files, and downloads. The package contains nothing specific to a platform. Each
// adapter adds its encoding and the meaning of its platform's errors.
package calls
