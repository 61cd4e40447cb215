package chat

// Examination is the result of checking a bot account and its settings on the platform.
type Examination struct {
	Account  string // the bot's name on the platform
	Findings []Finding
}

// Finding describes a setting on a platform with which the bot can't do what the configuration demands.
type Finding struct {
	What string // what is wrong
	Mend string // what an operator can do about the problem
}
