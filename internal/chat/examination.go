package chat

// Examination is what a platform says about a bot account, and what is wrong with its settings there.
type Examination struct {
	Account  string // the bot's name on the platform
	Findings []Finding
}

// Finding is a setting at a platform with which the bot can't do what the configuration asks for.
type Finding struct {
	What string // what is wrong
	Mend string // what an operator does about it
}
