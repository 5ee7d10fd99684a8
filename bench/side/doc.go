// Package side measures forms of one thing side by side: each of many rounds runs a
// batch of every form, in turn and each time beginning with another, so that what else
// the machine does hits all alike. What is compared are the rounds' ratios, never times
// of different minutes.
package side
