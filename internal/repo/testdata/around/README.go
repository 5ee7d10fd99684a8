package around

type Note struct {
	ID   int64
	Text string
}
