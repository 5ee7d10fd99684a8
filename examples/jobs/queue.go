package main

import "sync"

// Message is what any queue carries: headers, which are texts, and a body.
type Message struct {
	Headers map[string]string
	OrderID int64
	Attempt int // from 1
}

// Queue stands for the queue that you have. This one lives in memory, and gives each message
// to one worker.
type Queue struct {
	mu      sync.Mutex
	waiting []Message
	later   []Message
}

// Send adds a message.
func (q *Queue) Send(m Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, m)
}

// Later puts a message back.
func (q *Queue) Later(m Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.later = append(q.later, m)
}

// Due makes those that were put back come again.
func (q *Queue) Due() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting, q.later = append(q.waiting, q.later...), nil
}

// Take takes the next message, if there is one.
func (q *Queue) Take() (m Message, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return m, false
	}
	m, q.waiting = q.waiting[0], q.waiting[1:]
	m.Attempt++
	return m, true
}
