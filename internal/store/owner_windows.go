package store

// giveToOwner does nothing: files inherit who may use them from their directory.
func giveToOwner(string) error { return nil }
