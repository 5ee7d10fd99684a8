package monitor

// PollMost is the longest pause between two questions while somebody waits.
const PollMost = pollMost
