package chat

// Examination is what a platform says about a bot account, with the settings of the account that are wrong.
type Examination struct {
	Account  string // the bot's name on the platform
	Findings []Finding
}

// Finding is a setting on a platform that keeps the bot from doing what the configuration asks for.
type Finding struct {
	What string // what is wrong
	Mend string // what an operator can do about it
}
