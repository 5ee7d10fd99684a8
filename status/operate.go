package status

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// drainWithin is how long a request waits for the reads of a replica that is taken out
// of service. They end by themselves afterwards.
const drainWithin = 10 * time.Second

// operate takes a replica out of service, brings it back, or flips the kill switch.
func (p *Page) operate(w http.ResponseWriter, r *http.Request, what string) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		http.Error(w, "readsplit: POST does this", http.StatusMethodNotAllowed)
		return
	}
	if err := p.crosses.Check(r); err != nil {
		http.Error(w, "readsplit: another site asks for this", http.StatusForbidden)
		return
	}
	if p.opts.Authorize == nil || !p.opts.Authorize(r) {
		http.Error(w, "readsplit: this request may not do that: see status.Options.Authorize", http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "readsplit: the form cannot be read", http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), drainWithin)
	defer cancel()
	var err error
	switch what {
	case "drain":
		if err = p.plugin.Drain(ctx, r.PostForm.Get("replica")); errors.Is(err, context.DeadlineExceeded) {
			err = nil // it is out of service; the last reads there go on
		}
	case "resume":
		err = p.plugin.Resume(r.PostForm.Get("replica"))
	case "traffic":
		err = p.kill(r.PostForm.Get("kill_switch"))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.lookAgain(time.Now())
	w.WriteHeader(http.StatusNoContent)
}

// kill flips the kill switch and leaves the rest of what is set as it is.
func (p *Page) kill(on string) error {
	t := p.plugin.Status().Traffic
	switch on {
	case "true":
		t.KillSwitch = true
	case "false":
		t.KillSwitch = false
	default:
		return errors.New("readsplit: kill_switch must be true or false")
	}
	return p.plugin.SetTraffic(t)
}

var _ http.Handler = (*Page)(nil)
