import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** Unary calls of gRPC in the clear, on two connections. */
public final class Grpc {
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
            .setFullMethodName("fathom.Lab/Get")
            .setRequestMarshaller(BYTES)
            .setResponseMarshaller(BYTES)
            .build();

    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[1]);
        if (args[0].equals("serve")) {
            serve(port);
        } else {
            ask(port, args);
        }
    }

    private static void serve(int port) throws Exception {
        ServerServiceDefinition service = ServerServiceDefinition.builder("fathom.Lab")
                .addMethod(GET, ServerCalls.asyncUnaryCall((byte[] asked, StreamObserver<byte[]> answer) -> {
                    work();
                    answer.onNext(new byte[500]);
                    answer.onCompleted();
                }))
                .build();
        NettyServerBuilder.forPort(port).executor(Executors.newFixedThreadPool(16)).addService(service).build().start().awaitTermination();
    }

    /** Mostly a millisecond, now and then more. */
    private static void work() {
        try {
            boolean isLong = ThreadLocalRandom.current().nextInt(50) == 0;
            TimeUnit.MICROSECONDS.sleep(isLong ? 8_000 : 500 + ThreadLocalRandom.current().nextInt(1_000));
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    private static void ask(int port, String[] args) throws Exception {
        ManagedChannel[] channels = new ManagedChannel[2];
        for (int index = 0; index < channels.length; index++) {
            channels[index] = NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().build();
        }
        new Load().run(
                whenAnswered -> {
                    Channel channel = channels[ThreadLocalRandom.current().nextInt(channels.length)];
                    ClientCalls.asyncUnaryCall(channel.newCall(GET, CallOptions.DEFAULT), new byte[50], new StreamObserver<byte[]>() {
                        @Override
                        public void onNext(byte[] answer) {}

                        @Override
                        public void onError(Throwable failure) {
                            failure.printStackTrace();
                            whenAnswered.run();
                        }

                        @Override
                        public void onCompleted() {
                            whenAnswered.run();
                        }
                    });
                },
                Double.parseDouble(args[2]), Double.parseDouble(args[3]), args[4]);
        System.exit(0);
    }
}
