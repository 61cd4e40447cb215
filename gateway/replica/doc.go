// Package replica keeps what one process knows of its own part in a store that several processes share: whether its
// lease holds, and which chats it owns. It calls neither the store nor a platform.
package replica
