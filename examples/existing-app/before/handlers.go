package desk

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"gorm.io/gorm"
)

// who is the cookie that says who is signed in. It is an example: nobody checks it.
const who = "desk_user"

func (a *App) login(w http.ResponseWriter, r *http.Request) {
	name := r.FormValue("name")
	if name == "" {
		fail(w, ErrInvalid)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: who, Value: name, Path: "/", HttpOnly: true, Secure: true})
	w.WriteHeader(http.StatusNoContent)
}

// handler answers, or returns an error that says what is wrong.
type handler func(w http.ResponseWriter, r *http.Request, user string) error

func (a *App) signedIn(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := r.Cookie(who)
		if err != nil {
			http.Error(w, "sign in first", http.StatusUnauthorized)
			return
		}
		if err := h(w, r, c.Value); err != nil {
			fail(w, err)
		}
	})
}

func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, ErrNotFound):
		status = http.StatusNotFound
	case errors.Is(err, ErrConflict), errors.Is(err, ErrBusy), errors.Is(err, gorm.ErrDuplicatedKey):
		status = http.StatusConflict
	case errors.Is(err, ErrInvalid):
		status = http.StatusBadRequest
	}
	http.Error(w, err.Error(), status)
}

func answer(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(v)
}

// number is the ticket that the request is about.
func number(r *http.Request) int64 {
	n, _ := strconv.ParseInt(r.PathValue("number"), 10, 64) // 0 is nobody's
	return n
}

func (a *App) hire(w http.ResponseWriter, r *http.Request, _ string) error {
	capacity, err := strconv.Atoi(r.FormValue("capacity"))
	if err != nil || r.FormValue("name") == "" {
		return ErrInvalid
	}
	agent, err := a.tickets.people.Hire(r.Context(), r.FormValue("name"), capacity)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, agent)
}

func (a *App) openTicket(w http.ResponseWriter, r *http.Request, user string) error {
	if err := r.ParseForm(); err != nil {
		return ErrInvalid
	}
	t, err := a.tickets.Open(r.Context(), Question{
		Name: user, Email: user + "@example.com", Subject: r.FormValue("subject"), Text: r.FormValue("text"), Tags: r.Form["tag"],
	})
	if err != nil {
		return err
	}
	return answer(w, http.StatusCreated, t)
}

func (a *App) list(w http.ResponseWriter, r *http.Request, _ string) error {
	page, _ := strconv.Atoi(r.FormValue("page"))
	tickets, total, err := a.tickets.tickets.List(r.Context(), Filter{
		Status: Status(r.FormValue("status")), Customer: r.FormValue("customer"), Agent: r.FormValue("agent"), Tag: r.FormValue("tag"), Page: max(page, 0),
	})
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, map[string]any{"tickets": tickets, "total": total})
}

func (a *App) show(w http.ResponseWriter, r *http.Request, _ string) error {
	t, err := a.tickets.tickets.ByNumber(r.Context(), number(r))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, t)
}

func (a *App) remove(w http.ResponseWriter, r *http.Request, _ string) error {
	return done(w, a.tickets.tickets.Delete(r.Context(), number(r)))
}

func (a *App) restore(w http.ResponseWriter, r *http.Request, _ string) error {
	return done(w, a.tickets.tickets.Restore(r.Context(), number(r)))
}

func (a *App) comment(w http.ResponseWriter, r *http.Request, user string) error {
	return done(w, a.tickets.Comment(r.Context(), number(r), user, r.FormValue("text")))
}

func (a *App) assign(w http.ResponseWriter, r *http.Request, _ string) error {
	return done(w, a.tickets.Assign(r.Context(), number(r), r.FormValue("agent")))
}

func (a *App) closeTicket(w http.ResponseWriter, r *http.Request, _ string) error {
	return done(w, a.tickets.Close(r.Context(), number(r)))
}

func (a *App) merge(w http.ResponseWriter, r *http.Request, _ string) error {
	into, _ := strconv.ParseInt(r.FormValue("into"), 10, 64)
	return done(w, a.tickets.Merge(r.Context(), number(r), into))
}

func (a *App) history(w http.ResponseWriter, r *http.Request, _ string) error {
	what, err := a.tickets.tickets.History(r.Context(), number(r))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, what)
}

func (a *App) search(w http.ResponseWriter, r *http.Request, _ string) error {
	hits, err := a.reports.Search(r.Context(), r.FormValue("q"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, hits)
}

func (a *App) export(w http.ResponseWriter, r *http.Request, _ string) error {
	w.Header().Set("Content-Type", "text/csv")
	return a.reports.Export(r.Context(), w)
}

func (a *App) report(w http.ResponseWriter, r *http.Request, _ string) error {
	lines, err := a.reports.Report(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, lines)
}

func done(w http.ResponseWriter, err error) error {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}
