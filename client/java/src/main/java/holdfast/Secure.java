package holdfast;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;

/**
 * What tls:// and rediss:// have after the question mark: files with PEM, and the name that the daemon's certificate must
 * have. All may be "": without ca the authorities that Java trusts count, without name the host of the address.
 */
final class Secure {
    private static final String[] ALGORITHMS = {"EC", "RSA", "Ed25519"};

    private final String ca;
    private final String certificate;
    private final String key;
    private final String name;

    Secure(String ca, String certificate, String key, String name) {
        this.ca = ca;
        this.certificate = certificate;
        this.key = key;
        this.name = name;
    }

    private List<String> fields() {
        return List.of(ca, certificate, key, name);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Secure && fields().equals(((Secure) other).fields());
    }

    @Override
    public int hashCode() {
        return fields().hashCode();
    }

    /** For a new connection: the files are read anew, as they may have been replaced. */
    SSLEngine engine(String host, int port) throws IOException {
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(keys(), authorities(), null);
            SSLEngine engine = context.createSSLEngine(name.isEmpty() ? host : name, port);
            SSLParameters parameters = engine.getSSLParameters();
            parameters.setEndpointIdentificationAlgorithm("HTTPS");
            parameters.setProtocols(new String[] {"TLSv1.3", "TLSv1.2"});
            engine.setSSLParameters(parameters);
            engine.setUseClientMode(true);
            return engine;
        } catch (GeneralSecurityException | IllegalArgumentException wrong) {
            throw new IOException("TLS: " + wrong.getMessage(), wrong);
        }
    }

    private TrustManager[] authorities() throws GeneralSecurityException, IOException {
        if (ca.isEmpty() || ca.equals("system")) {
            return null;
        }
        KeyStore store = store();
        for (Certificate one : certificates(ca)) {
            store.setCertificateEntry("ca" + store.size(), one);
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        return factory.getTrustManagers();
    }

    private KeyManager[] keys() throws GeneralSecurityException, IOException {
        if (certificate.isEmpty()) {
            return null;
        }
        KeyStore store = store();
        char[] none = new char[0];
        store.setKeyEntry("own", privateKey(), none, certificates(certificate));
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(store, none);
        return factory.getKeyManagers();
    }

    private static KeyStore store() throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        return store;
    }

    private static Certificate[] certificates(String file) throws GeneralSecurityException, IOException {
        byte[] bytes = Files.readAllBytes(Path.of(file));
        return CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(bytes))
                .toArray(new Certificate[0]);
    }

    private PrivateKey privateKey() throws GeneralSecurityException, IOException {
        String text = Files.readString(Path.of(key), StandardCharsets.US_ASCII);
        String begin = "-----BEGIN PRIVATE KEY-----";
        int from = text.indexOf(begin);
        int to = text.indexOf("-----END PRIVATE KEY-----");
        if (from < 0 || to < from) {
            throw new InvalidKeySpecException(key + " has no PRIVATE KEY of PKCS#8: openssl pkcs8 -topk8 -nodes makes one");
        }
        byte[] bytes = Base64.getMimeDecoder().decode(text.substring(from + begin.length(), to));
        for (String algorithm : ALGORITHMS) {
            try {
                return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(bytes));
            } catch (InvalidKeySpecException other) {
                // the next one
            }
        }
        throw new InvalidKeySpecException(key + " has a key of an unknown kind");
    }
}
