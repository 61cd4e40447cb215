package chat

// Examination is the result of checking a bot account on its platform. Examination lists the settings that are wrong.
type Examination struct {
	Account  string // the bot's name on the platform
	Findings []Finding
}

// Finding is a setting on a platform that keeps the bot from doing what the configuration asks for.
type Finding struct {
	What string // what is wrong
	Mend string // what an operator can do about it
}
