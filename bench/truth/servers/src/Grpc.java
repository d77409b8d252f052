// io.grpc:grpc-netty-shaded:1.85.1 io.grpc:grpc-stub:1.85.1
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;

/** Unary calls of gRPC in the clear: event loops, and the pool that all servers of the JVM share. */
public final class Grpc {
    private static final int CONNECTIONS = 4;
    private static final Path PORT = Path.of("port");
    private static final MethodDescriptor.Marshaller<byte[]> BYTES = new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException failure) {
                throw new UncheckedIOException(failure);
            }
        }
    };
    private static final MethodDescriptor<byte[], byte[]> GET = MethodDescriptor.<byte[], byte[]>newBuilder()
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName("shop.Items/Get")
            .setRequestMarshaller(BYTES)
            .setResponseMarshaller(BYTES)
            .build();

    public static void main(String[] args) throws Exception {
        if (args[0].equals("ask")) {
            ask(Double.parseDouble(args[1]), args[2]);
        }
        Files.writeString(PORT, args[0]);
        ServerServiceDefinition service = ServerServiceDefinition.builder("shop.Items")
                .addMethod(GET, ServerCalls.asyncUnaryCall(Grpc::answer))
                .build();
        NettyServerBuilder.forPort(Integer.parseInt(args[0])).addService(service).build().start().awaitTermination();
    }

    private static void answer(byte[] path, StreamObserver<byte[]> answer) {
        try {
            answer.onNext(Work.answer(new String(path, StandardCharsets.UTF_8)));
            answer.onCompleted();
        } catch (Exception failed) {
            answer.onError(Status.INTERNAL.withCause(failed).asException());
        }
    }

    private static void ask(double perSecond, String record) throws Exception {
        int port = Integer.parseInt(Files.readString(PORT));
        Channel[] channels = new Channel[CONNECTIONS];
        for (int i = 0; i < CONNECTIONS; i++) {
            channels[i] = NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().build();
        }
        Asker.send(perSecond, record, () -> {
            ThreadLocalRandom random = ThreadLocalRandom.current();
            return asked(channels[random.nextInt(CONNECTIONS)], "/item/" + random.nextInt(1000));
        });
    }

    private static CompletableFuture<byte[]> asked(Channel channel, String path) {
        CompletableFuture<byte[]> answer = new CompletableFuture<>();
        ClientCalls.asyncUnaryCall(channel.newCall(GET, CallOptions.DEFAULT), path.getBytes(StandardCharsets.UTF_8), new StreamObserver<>() {
            @Override
            public void onNext(byte[] page) {
                answer.complete(page);
            }

            @Override
            public void onError(Throwable failure) {
                answer.completeExceptionally(failure);
            }

            @Override
            public void onCompleted() {
                // There is one answer.
            }
        });
        return answer;
    }
}
