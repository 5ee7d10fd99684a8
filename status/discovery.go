package status

import "github.com/readsplit/readsplit/discover"

// Discovery is what finds replicas, and what it has found last.
type Discovery struct {
	Source string `json:"source"`
	// Error is why lookups fail; empty: they do not.
	Error string `json:"error,omitempty"`
	// Empty says that the newest answer named nobody.
	Empty bool `json:"empty,omitempty"`
	// Missing are servers that are in use and not in the answers, NotUsed servers that
	// were found and why they are not used, by name.
	Missing []string          `json:"missing,omitempty"`
	NotUsed map[string]string `json:"not_used,omitempty"`
}

func discovery(st *discover.Status) *Discovery {
	if st.Source == "" {
		return nil
	}
	d := &Discovery{Source: st.Source, Empty: st.Empty}
	if st.Err != nil {
		d.Error = st.Err.Error()
	}
	for _, f := range st.Servers {
		switch {
		case f.InUse && !f.Missing.IsZero():
			d.Missing = append(d.Missing, f.Name)
		case !f.InUse && f.Why != nil:
			if d.NotUsed == nil {
				d.NotUsed = make(map[string]string)
			}
			d.NotUsed[f.Name] = f.Why.Error()
		}
	}
	return d
}

// sentence is what is wrong; empty: nothing.
func (d *Discovery) sentence() string {
	switch {
	case d == nil:
	case d.Error != "":
		return "Discovery by " + d.Source + " fails: the replicas stay as they are."
	case d.Empty && len(d.Missing) > 0:
		return "Discovery by " + d.Source + " finds nobody: the replicas stay as they are for now."
	}
	return ""
}
