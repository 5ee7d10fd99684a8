package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// series is one line of what a query returns.
type series struct {
	Metric map[string]string
	Value  [2]any // time, and the value as a text
}

// query returns what an expression is now.
func (s *server) query(ctx context.Context, expression string) (found []series, err error) {
	var data struct{ Result []series }
	err = s.ask(ctx, "/api/v1/query?"+url.Values{"query": {expression}}.Encode(), &data)
	return data.Result, err
}

// alert is an alert that is pending or firing.
type alert struct {
	Labels      map[string]string
	Annotations map[string]string
	State       string
}

// alerts returns those that are pending or firing now.
func (s *server) alerts(ctx context.Context) ([]alert, error) {
	var data struct{ Alerts []alert }
	err := s.ask(ctx, "/api/v1/alerts", &data)
	return data.Alerts, err
}

// ask puts the data of an answer into data.
func (s *server) ask(ctx context.Context, path string, data any) error {
	res, err := get(ctx, s.url+path)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return fmt.Errorf("observed: the answer of %s: %w", path, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("observed: prometheus says to %s: %s", path, answer.Error)
	}
	return nil
}

func get(ctx context.Context, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}
