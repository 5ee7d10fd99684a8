package around

import "google.golang.org/grpc"

var target string
var credentials grpc.DialOption
